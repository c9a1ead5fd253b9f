-- The files that the published import guides select from an export, by the same patterns. DuckDB reads them, in place
-- of each warehouse. Values in braces come from the test.

-- ClickHouse: s3('.../{prefix}/export_id={export_id}/**', 'Parquet')
SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS runs, count(DISTINCT start_time::DATE)::INT AS days
FROM read_parquet('{bucket}/{prefix}/export_id={export_id}/**', hive_partitioning = false);

-- BigQuery: an external table of gs://BUCKET/PREFIX/export_id=* with partitions inferred from the path
SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS runs, count(DISTINCT start_time::DATE)::INT AS days
FROM read_parquet('{bucket}/{prefix}/export_id=*/**', hive_partitioning = true)
WHERE export_id = '{export_id}' AND year IS NOT NULL AND month IS NOT NULL AND day IS NOT NULL;

-- Athena and Redshift Spectrum: LOCATION of the project's folder, partitioned by year, month and day
SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS runs, count(DISTINCT start_time::DATE)::INT AS days
FROM read_parquet('{location}year=*/month=*/day=*/*', hive_partitioning = true);

-- Snowflake: a stage of the export's folder, PATTERN '.*parquet'
SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS runs, count(DISTINCT start_time::DATE)::INT AS days
FROM read_parquet('{bucket}/{prefix}/export_id={export_id}/*/*/*/*/*/*/*.parquet', hive_partitioning = false);

-- DuckDB: 's3://{bucket}/{prefix}/export_id={export_id}/**/*.parquet'
SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS runs, count(DISTINCT start_time::DATE)::INT AS days
FROM '{bucket}/{prefix}/export_id={export_id}/**/*.parquet';
