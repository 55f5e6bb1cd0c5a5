"""Method `sunstone`: orders by a trie, tiles by a tree, unrollings by a principle, memory by memory."""
