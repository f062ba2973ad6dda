"""All output to terminals and files. Only this package prints, and it makes every character visible
(`trainform.escaping`)."""
