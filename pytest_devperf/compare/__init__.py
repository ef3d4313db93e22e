"""Whether it became slower: policy, comparability, verdict."""
