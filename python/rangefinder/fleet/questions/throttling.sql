-- GPUs that ran at lower clocks, and whether heat or power was the reason.
WITH samples AS (
    SELECT coalesce(node, 'unknown') AS node, series.run AS run, device, TRY_CAST(value AS BIGINT) AS bits
    FROM series
    JOIN (SELECT DISTINCT run, rank, node FROM runs) AS places
    ON series.run = places.run AND coalesce(series.rank, -1) = coalesce(places.rank, -1)
    WHERE quantity = 'throttle_reasons' AND value IS NOT NULL
)
SELECT node, device, count(*) AS samples, count(DISTINCT run) AS runs,
       round(1e2 * sum(CASE WHEN (bits & 236) <> 0 THEN 1 ELSE 0 END) / count(*), 2) AS throttled_percent,
       round(1e2 * sum(CASE WHEN (bits & 96) <> 0 THEN 1 ELSE 0 END) / count(*), 2) AS hot_percent,
       round(1e2 * sum(CASE WHEN (bits & 132) <> 0 THEN 1 ELSE 0 END) / count(*), 2) AS power_percent
FROM samples GROUP BY node, device ORDER BY throttled_percent DESC, node, device LIMIT 20
