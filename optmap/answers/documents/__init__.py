"""The JSON documents of answers, their strict readers, and recounts of what they claim."""
