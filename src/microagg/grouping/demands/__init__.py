"""Demands beyond k: what every group keeps of confidential columns and of its own means."""
