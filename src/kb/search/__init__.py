"""From a query to cited hits. Ranking lives here, above every store."""
