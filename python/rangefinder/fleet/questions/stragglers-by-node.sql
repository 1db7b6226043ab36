-- Which nodes others wait for in collectives.
-- Ranks leave a collective together, so the one that is in it for the shortest time came last.
WITH joint AS (
    SELECT run, rank, "group", function, begin_ns, duration_ns,
           lower(replace(replace(replace(function, '_', ''), '-', ''), ' ', '')) AS plain
    FROM collectives WHERE rank IS NOT NULL AND run IN (SELECT run FROM runs)
),
-- Nobody leaves these before everybody has come.
numbered AS (
    SELECT run, rank, "group", function, duration_ns,
           row_number() OVER (PARTITION BY run, rank, "group", function ORDER BY begin_ns) AS number,
           count(*) OVER (PARTITION BY run, rank, "group", function) AS times,
           count(duration_ns) OVER (PARTITION BY run, rank, "group", function) AS timed
    FROM joint
    WHERE plain LIKE '%allreduce%' OR plain LIKE '%allgather%' OR plain LIKE '%reducescatter%' OR plain LIKE '%alltoall%'
),
-- Which is which is only known where all ranks have the same number of them, and all of their times.
compared AS (
    SELECT *, min(times) OVER (PARTITION BY run, "group", function) AS least_times,
           max(times) OVER (PARTITION BY run, "group", function) AS most_times,
           min(timed) OVER (PARTITION BY run, "group", function) AS least_timed
    FROM numbered WHERE "group" IS NOT NULL
),
of_each AS (
    SELECT run, rank, duration_ns,
           row_number() OVER (PARTITION BY run, "group", function, number ORDER BY duration_ns, rank) AS place,
           count(*) OVER (PARTITION BY run, "group", function, number) AS ranks,
           sum(duration_ns) OVER (PARTITION BY run, "group", function, number) AS together_ns
    FROM compared WHERE least_times = most_times AND least_timed = most_times
),
places AS (SELECT DISTINCT run, rank, node FROM runs WHERE rank IS NOT NULL),
named AS (
    SELECT coalesce(node, 'rank ' || CAST(of_each.rank AS VARCHAR) || ', machine unknown') AS node,
           of_each.run AS run, place, ranks, together_ns - ranks * duration_ns AS waited_ns
    FROM of_each LEFT JOIN places ON of_each.run = places.run AND of_each.rank = places.rank
    WHERE ranks > 1
)
SELECT node, count(DISTINCT run) AS runs, count(*) AS collectives,
       round(1e2 * sum(CASE WHEN place = 1 THEN 1 ELSE 0 END) / count(*), 1) AS last_percent,
       round(1e2 * sum(1e0 / ranks) / count(*), 1) AS by_chance_percent,
       round(sum(CASE WHEN place = 1 THEN waited_ns ELSE 0 END) / 1e9, 3) AS others_waited_s
FROM named GROUP BY node ORDER BY others_waited_s DESC, node LIMIT 20
