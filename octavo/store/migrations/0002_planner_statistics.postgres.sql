-- PostgreSQL keeps the statistics of its planner itself.
SELECT 1;
