-- The kernels that cost the most GPU time.
WITH together AS (
    SELECT short_name AS kernel, family, sum(calls) AS calls, sum(total_ns) AS ns, count(DISTINCT run) AS runs
    FROM kernels WHERE run IN (SELECT run FROM runs) GROUP BY short_name, family
)
SELECT kernel, family, calls, round(ns / 1e9, 3) AS seconds, round(1e2 * ns / sum(ns) OVER (), 2) AS percent,
       round(ns / 1e3 / calls, 2) AS mean_us, runs
FROM together ORDER BY ns DESC, kernel, family LIMIT 20
