"""What people see: nothing else prints, and whatever comes here leaves it with every character visible (`trainform.escaping`)."""
