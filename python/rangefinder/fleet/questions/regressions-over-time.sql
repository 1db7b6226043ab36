-- When the main loop, or a kernel with at least 1 % of the GPU time, became slower or faster.
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
shares AS (
    SELECT run, program, begun, short_name, total_ns, calls, sum(total_ns) OVER (PARTITION BY program) AS of_program_ns,
           sum(total_ns) OVER (PARTITION BY program, short_name) AS of_kernel_ns
    FROM of_kernels
)
SELECT program, 'an iteration of ' || region AS metric, loops.run AS run, begun, ns
FROM loops JOIN each_run ON loops.run = each_run.run
UNION ALL
SELECT program, 'a launch of ' || short_name AS metric, run, begun, CAST(total_ns AS DOUBLE) / calls AS ns
FROM shares WHERE calls > 0 AND of_kernel_ns >= 1e-2 * of_program_ns
ORDER BY program, metric, begun, run
