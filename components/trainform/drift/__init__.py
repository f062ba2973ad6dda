"""What of the live objects is otherwise than it was deployed, without the engine and without a change of anything."""
