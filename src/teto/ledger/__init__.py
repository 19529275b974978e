"""Ledgers keep receipts, behind the `Ledger` port."""
