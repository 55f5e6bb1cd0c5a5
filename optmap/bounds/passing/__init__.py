"""Words that come again because another tensor does not fit: visits and passes."""
