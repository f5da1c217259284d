"""Alert rules and dashboards as code."""
