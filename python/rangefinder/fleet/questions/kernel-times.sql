-- Mean, median and 99th percentile of the 20 largest kernels, from every launch.
WITH largest AS (
    SELECT name FROM launches WHERE run IN (SELECT run FROM runs)
    GROUP BY name ORDER BY sum(duration_ns) DESC, name LIMIT 20
),
-- How often each duration occurs: far fewer rows than launches, and what does not fit in memory goes to disk.
durations AS (
    SELECT name, duration_ns, count(*) AS times FROM launches
    WHERE run IN (SELECT run FROM runs) AND name IN (SELECT name FROM largest)
    GROUP BY name, duration_ns
),
ordered AS (
    SELECT name, duration_ns, times, sum(times) OVER (PARTITION BY name ORDER BY duration_ns) AS upto,
           sum(times) OVER (PARTITION BY name) AS calls
    FROM durations
),
-- As percentile_cont: between the two launches around the place, in proportion.
places AS (
    SELECT *, 5e-1 * (calls - 1) AS p50_at, 99e-2 * (calls - 1) AS p99_at FROM ordered
),
of_each AS (
    SELECT name, max(calls) AS calls, sum(duration_ns * times) AS total_ns, max(duration_ns) AS max_ns,
           max(p50_at - floor(p50_at)) AS p50_part, max(p99_at - floor(p99_at)) AS p99_part,
           min(CASE WHEN upto > floor(p50_at) THEN duration_ns END) AS p50_low,
           min(CASE WHEN upto > ceil(p50_at) THEN duration_ns END) AS p50_high,
           min(CASE WHEN upto > floor(p99_at) THEN duration_ns END) AS p99_low,
           min(CASE WHEN upto > ceil(p99_at) THEN duration_ns END) AS p99_high
    FROM places GROUP BY name
)
SELECT name AS kernel, CAST(calls AS BIGINT) AS calls, round(total_ns / 1e9, 3) AS seconds,
       round(total_ns / calls / 1e3, 2) AS mean_us,
       round((p50_low + p50_part * (p50_high - p50_low)) / 1e3, 2) AS p50_us,
       round((p99_low + p99_part * (p99_high - p99_low)) / 1e3, 2) AS p99_us,
       round(max_ns / 1e3, 2) AS max_us
FROM of_each ORDER BY total_ns DESC, kernel
