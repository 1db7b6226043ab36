-- What GPUs did and waited for, in GPU hours.
WITH causes AS (
    SELECT cause, sum(ns) AS ns, count(DISTINCT run) AS runs FROM idle
    WHERE region IS NULL AND run IN (SELECT run FROM runs) GROUP BY cause
)
SELECT cause, round(ns / 3.6e12, 4) AS gpu_hours, round(1e2 * ns / sum(ns) OVER (), 2) AS percent, runs
FROM causes ORDER BY ns DESC, cause
