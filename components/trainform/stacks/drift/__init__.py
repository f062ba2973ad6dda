"""Find changes of live objects outside Pulumi, without the engine. Nothing is changed."""
