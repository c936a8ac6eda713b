"""Whether numbo keeps what it promises: equal suggestions, predictions that hold, a quick first use."""
