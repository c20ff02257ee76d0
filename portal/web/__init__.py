"""The page shell: pages, errors, lists, form keys, health. It knows no domain."""
