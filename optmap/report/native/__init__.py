"""Code and its measurements on the machine at hand, as tables and documents."""
