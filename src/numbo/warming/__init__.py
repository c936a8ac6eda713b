"""What is compiled when: beforehand, in the background, and what people are told about it."""
