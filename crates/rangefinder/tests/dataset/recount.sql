-- What `analyze --json` says, worked out again from the rows of a dataset. One query a table, each behind a line `-- name: …`;
-- tables are views of one run. Plain SQL.

-- name: kernels
WITH sums AS (
  SELECT name, count(*) AS calls, sum(duration_ns) AS total_ns, median(CAST(duration_ns AS DOUBLE)) AS middle,
         min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, stddev(CAST(duration_ns AS DOUBLE)) AS spread
  FROM launches GROUP BY name
)
SELECT name, calls, total_ns, round(CAST(total_ns AS DOUBLE) / calls) AS mean_ns, round(middle) AS median_ns, min_ns, max_ns,
       round(coalesce(spread, 0)) AS std_ns,
       total_ns / (SELECT sum(CAST(total_ns AS DOUBLE)) FROM sums) AS share
FROM sums ORDER BY name

-- name: memcpy
SELECT direction, count(*) AS calls, sum(bytes) AS bytes, sum(duration_ns) AS total_ns, min(duration_ns) AS min_ns,
       max(duration_ns) AS max_ns, round(median(CAST(duration_ns AS DOUBLE))) AS median_ns
FROM copies GROUP BY direction ORDER BY direction

-- name: api
SELECT name, count(*) AS calls, sum(duration_ns) AS total_ns, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
       round(median(CAST(duration_ns AS DOUBLE))) AS median_ns
FROM calls GROUP BY name ORDER BY name

-- name: regions
WITH RECURSIVE above AS (
  SELECT region_id, region_id AS ancestor FROM regions
  UNION ALL
  SELECT above.region_id, regions.parent_id
  FROM above JOIN regions ON regions.region_id = above.ancestor WHERE regions.parent_id IS NOT NULL
), around AS (
  SELECT instance, instance AS ancestor FROM instances
  UNION ALL
  SELECT around.instance, instances.parent
  FROM around JOIN instances ON instances.instance = around.ancestor WHERE instances.parent IS NOT NULL
), work AS (
  SELECT 'kernel' AS kind, process, device, begin_ns, duration_ns, call, other_thread, instances FROM launches
  UNION ALL
  SELECT CASE WHEN by_driver THEN 'migration' ELSE 'copy' END, process, device, begin_ns, duration_ns, call, other_thread, instances
  FROM copies
  UNION ALL
  SELECT 'graph', process, device, begin_ns, duration_ns, call, other_thread, instances FROM graphs
), numbered AS (
  SELECT *, row_number() OVER (ORDER BY begin_ns, kind, device, call) AS number FROM work
), started AS (
  SELECT number, kind, device, begin_ns, duration_ns, call, other_thread, process, unnest(instances) AS instance FROM numbered
), own AS (
  SELECT started.*, instances.region_id AS region FROM started JOIN instances ON instances.instance = started.instance
), inside AS (
  -- A push/pop region has what its inner regions have.
  SELECT above.ancestor AS region_id, own.region = above.ancestor AS exclusive, number, kind, device, begin_ns, duration_ns, call,
         other_thread
  FROM own JOIN above ON above.region_id = own.region
  UNION ALL
  -- A start/end region has, once, what its process starts while it is open.
  SELECT DISTINCT instances.region_id, true, number, numbered.kind, device, numbered.begin_ns, numbered.duration_ns, numbered.call,
         false
  FROM numbered JOIN calls ON calls.call = numbered.call
  JOIN instances ON instances.kind = 'start/end' AND instances.region_id IS NOT NULL AND instances.process = numbered.process
    AND calls.begin_ns >= instances.begin_ns
    AND (instances.duration_ns IS NULL OR calls.begin_ns < instances.begin_ns + instances.duration_ns)
), sums AS (
  SELECT region_id,
         sum(CASE WHEN kind = 'kernel' THEN 1 ELSE 0 END) AS kernels_inclusive,
         sum(CASE WHEN kind = 'kernel' AND exclusive THEN 1 ELSE 0 END) AS kernels_exclusive,
         sum(CASE WHEN kind = 'kernel' THEN duration_ns ELSE 0 END) AS gpu_inclusive_ns,
         sum(CASE WHEN kind = 'kernel' AND exclusive THEN duration_ns ELSE 0 END) AS gpu_exclusive_ns,
         sum(CASE WHEN kind = 'copy' THEN 1 ELSE 0 END) AS copies,
         sum(CASE WHEN kind = 'copy' THEN duration_ns ELSE 0 END) AS copy_ns,
         sum(CASE WHEN kind = 'graph' THEN 1 ELSE 0 END) AS graphs,
         sum(CASE WHEN kind = 'graph' THEN duration_ns ELSE 0 END) AS graph_ns,
         count(DISTINCT call) AS launches,
         sum(CASE WHEN kind = 'kernel' AND other_thread THEN 1 ELSE 0 END) AS other_thread_kernels
  FROM inside GROUP BY region_id
), reached AS (
  SELECT region_id, device, begin_ns, begin_ns + duration_ns AS end_ns,
         max(begin_ns + duration_ns) OVER (PARTITION BY region_id, device ORDER BY begin_ns, number
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
  FROM inside
), busy AS (
  SELECT region_id, sum(greatest(end_ns - greatest(begin_ns, coalesce(until, begin_ns)), 0)) AS gpu_busy_ns
  FROM reached GROUP BY region_id
), spans AS (
  SELECT around.ancestor AS instance, max(begin_ns + duration_ns) - min(begin_ns) AS span
  FROM started JOIN around ON around.instance = started.instance GROUP BY around.ancestor
), wide AS (
  SELECT region_id, sum(span) AS gpu_span_ns
  FROM spans JOIN instances ON instances.instance = spans.instance GROUP BY region_id
), hosts AS (
  SELECT region_id, count(*) AS instances, sum(CASE WHEN duration_ns IS NULL THEN 1 ELSE 0 END) AS open,
         sum(coalesce(duration_ns, 0)) AS wall_ns
  FROM instances WHERE region_id IS NOT NULL GROUP BY region_id
)
SELECT regions.region AS path, regions.kind, regions.depth, hosts.instances, hosts.open, hosts.wall_ns,
       coalesce(sums.kernels_inclusive, 0) AS kernels_inclusive, coalesce(sums.kernels_exclusive, 0) AS kernels_exclusive,
       coalesce(sums.gpu_inclusive_ns, 0) AS gpu_inclusive_ns, coalesce(sums.gpu_exclusive_ns, 0) AS gpu_exclusive_ns,
       coalesce(busy.gpu_busy_ns, 0) AS gpu_busy_ns,
       CASE WHEN regions.kind = 'push/pop' THEN coalesce(wide.gpu_span_ns, 0) END AS gpu_span_ns,
       coalesce(sums.launches, 0) AS launches, coalesce(sums.copies, 0) AS copies, coalesce(sums.copy_ns, 0) AS copy_ns,
       coalesce(sums.graphs, 0) AS graphs, coalesce(sums.graph_ns, 0) AS graph_ns,
       coalesce(sums.other_thread_kernels, 0) AS other_thread_kernels
FROM regions LEFT JOIN hosts USING (region_id) LEFT JOIN sums USING (region_id) LEFT JOIN busy USING (region_id)
LEFT JOIN wide USING (region_id)
ORDER BY path, regions.kind

-- name: stages
WITH members AS (
  SELECT regions.stage_id, regions.stage, instances.process, instances.duration_ns,
         row_number() OVER (PARTITION BY regions.stage_id ORDER BY instances.begin_ns, instances.instance) AS place
  FROM instances JOIN regions ON regions.region_id = instances.region_id WHERE regions.stage_id IS NOT NULL
), ended AS (
  SELECT stage_id, duration_ns, row_number() OVER (PARTITION BY stage_id ORDER BY duration_ns) AS nth,
         count(*) OVER (PARTITION BY stage_id) AS many
  FROM members WHERE duration_ns IS NOT NULL
), usual AS (
  SELECT stage_id, max(CASE WHEN nth = CAST(ceil(many * 50 / 100.0) AS BIGINT) THEN duration_ns END) AS times_p50_ns,
         max(CASE WHEN nth = CAST(ceil(many * 95 / 100.0) AS BIGINT) THEN duration_ns END) AS times_p95_ns
  FROM ended GROUP BY stage_id
), sums AS (
  SELECT stage_id, min(stage) AS name, count(duration_ns) AS times_count, sum(duration_ns) AS times_total_ns,
         min(duration_ns) AS times_min_ns, max(duration_ns) AS times_max_ns,
         max(CASE WHEN place = 1 THEN duration_ns END) AS first_ns
  FROM members GROUP BY stage_id
)
SELECT sums.*, usual.times_p50_ns, usual.times_p95_ns
FROM sums LEFT JOIN usual ON usual.stage_id = sums.stage_id ORDER BY sums.stage_id

-- name: loops
WITH steady AS (
  SELECT loop, begin_ns, duration_ns, row_number() OVER (PARTITION BY loop ORDER BY duration_ns) AS nth,
         count(*) OVER (PARTITION BY loop) AS many
  FROM iterations WHERE NOT warm_up
), usual AS (
  SELECT loop, min(begin_ns) AS begin_ns,
         max(CASE WHEN nth = CAST(ceil(many * 50 / 100.0) AS BIGINT) THEN duration_ns END) AS p50,
         max(CASE WHEN nth = CAST(ceil(many * 95 / 100.0) AS BIGINT) THEN duration_ns END) AS p95,
         min(duration_ns) AS min, max(duration_ns) AS max
  FROM steady GROUP BY loop
), sums AS (
  SELECT loop, min(region) AS region, count(*) AS iterations, sum(CASE WHEN warm_up THEN 1 ELSE 0 END) AS warm_up,
         max(begin_ns + duration_ns) AS end_ns
  FROM iterations GROUP BY loop
)
SELECT sums.*, usual.begin_ns, usual.p50, usual.p95, usual.min, usual.max
FROM sums LEFT JOIN usual ON usual.loop = sums.loop ORDER BY sums.loop
