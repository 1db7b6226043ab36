-- Since when something takes longer or shorter: a steady iteration of the main loop, and kernels with at least 1 % of a program's GPU time.
WITH each_run AS (
    SELECT run, min(name) AS program, min(coalesce(begun, CAST(date AS TIMESTAMP))) AS begun FROM runs GROUP BY run
),
loops AS (
    SELECT run, coalesce(region, 'the loop') AS region, median(CAST(duration_ns AS DOUBLE)) AS ns
    FROM iterations WHERE NOT warm_up AND loop = 0 GROUP BY run, coalesce(region, 'the loop')
),
of_kernels AS (
    SELECT kernels.run, program, begun, short_name, sum(total_ns) AS total_ns, sum(calls) AS calls
    FROM kernels JOIN each_run ON kernels.run = each_run.run GROUP BY kernels.run, program, begun, short_name
),
of_programs AS (SELECT program, sum(total_ns) AS total_ns FROM of_kernels GROUP BY program),
large AS (
    SELECT of_kernels.program, short_name
    FROM of_kernels JOIN of_programs ON of_kernels.program = of_programs.program
    GROUP BY of_kernels.program, short_name HAVING sum(of_kernels.total_ns) >= 0.01 * max(of_programs.total_ns)
)
SELECT program, 'an iteration of ' || region AS metric, loops.run AS run, begun, ns
FROM loops JOIN each_run ON loops.run = each_run.run
UNION ALL
SELECT of_kernels.program, 'a launch of ' || of_kernels.short_name AS metric, run, begun,
       CAST(total_ns AS DOUBLE) / calls AS ns
FROM of_kernels
JOIN large ON of_kernels.program = large.program AND of_kernels.short_name = large.short_name
WHERE calls > 0
ORDER BY program, metric, begun, run
