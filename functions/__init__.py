"""The serverless functions: indexing, retrieval and chat, and the ways to call them."""
