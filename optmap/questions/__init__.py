"""What is asked: objectives, rules of tiles and integers, and traits of counting policies."""
