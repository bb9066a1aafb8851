"""Model servers that speak OpenAI's protocol on a free port of this machine."""
