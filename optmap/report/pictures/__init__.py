"""Pictures of answers; a plotting library is imported when one is drawn."""
