"""From files to stored documents: discover, extract, chunk, embed, put. Nothing here is needed to search."""
