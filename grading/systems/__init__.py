"""The systems of the papers: retrieval, reranking, and generated answers with citations."""
