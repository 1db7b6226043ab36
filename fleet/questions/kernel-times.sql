-- How long launches of the 20 largest kernels take, from every launch; percentiles are approximate.
SELECT name AS kernel, count(*) AS calls, round(sum(duration_ns) / 1e9, 3) AS seconds,
       round(avg(duration_ns) / 1e3, 2) AS mean_us,
       round(approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) / 1e3, 2) AS p50_us,
       round(approx_percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ns) / 1e3, 2) AS p99_us,
       round(max(duration_ns) / 1e3, 2) AS max_us
FROM (SELECT DISTINCT run FROM runs) AS whole JOIN launches ON whole.run = launches.run
GROUP BY name ORDER BY sum(duration_ns) DESC, kernel LIMIT 20
