CREATE TABLE `bulk_export_files` (
	`id` text PRIMARY KEY NOT NULL,
	`bulk_export_id` text NOT NULL,
	`run_id` text,
	`workspace_id` text NOT NULL,
	`number` integer NOT NULL,
	`key` text NOT NULL,
	`chunk` text NOT NULL,
	`rows_planned` integer NOT NULL,
	`status` text NOT NULL,
	`token` integer NOT NULL,
	`retry_number` integer NOT NULL,
	`retry_limit` integer NOT NULL,
	`errors` text,
	`sent_at` text,
	`lease_expires_at` text,
	`next_attempt_at` text,
	`upload_id` text,
	`rows_written` integer NOT NULL,
	`bytes_written` integer NOT NULL,
	`sha256` text,
	`etag` text,
	`min_start_us` integer,
	`max_start_us` integer,
	`started_at` text,
	`updated_at` text NOT NULL,
	`finished_at` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_export_files_key` ON `bulk_export_files` (`bulk_export_id`,`key`);--> statement-breakpoint
CREATE INDEX `bulk_export_files_by_status` ON `bulk_export_files` (`bulk_export_id`,`status`,`number`);--> statement-breakpoint
CREATE INDEX `bulk_export_files_by_run` ON `bulk_export_files` (`run_id`);--> statement-breakpoint
CREATE INDEX `bulk_export_files_open` ON `bulk_export_files` (`status`,`sent_at`) WHERE status in ('WAITING', 'RUNNING');--> statement-breakpoint
CREATE TABLE `bulk_export_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`bulk_export_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`start_us` integer NOT NULL,
	`end_us` integer NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_export_runs_day` ON `bulk_export_runs` (`bulk_export_id`,`start_us`);--> statement-breakpoint
CREATE TABLE `bulk_exports` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`bulk_export_destination_id` text NOT NULL,
	`session_id` text NOT NULL,
	`key_base` text NOT NULL,
	`start_us` integer NOT NULL,
	`end_us` integer,
	`interval_hours` integer,
	`filter` text,
	`export_fields` text,
	`format_version` text NOT NULL,
	`compression` text NOT NULL,
	`late_rows` integer NOT NULL,
	`status` text NOT NULL,
	`error` text,
	`source_bulk_export_id` text,
	`window_index` integer,
	`next_window_index` integer,
	`next_window_at` text,
	`idempotency_key` text,
	`request_sha256` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`started_at` text,
	`planned_at` text,
	`finished_at` text,
	`watermarks` text,
	`sent_at` text,
	`cleaned_at` text
);
--> statement-breakpoint
CREATE INDEX `bulk_exports_by_creation` ON `bulk_exports` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bulk_exports_by_status` ON `bulk_exports` (`status`,`workspace_id`);--> statement-breakpoint
CREATE INDEX `bulk_exports_by_destination` ON `bulk_exports` (`bulk_export_destination_id`);--> statement-breakpoint
CREATE INDEX `bulk_exports_unclean` ON `bulk_exports` (`finished_at`) WHERE cleaned_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_exports_window` ON `bulk_exports` (`source_bulk_export_id`,`window_index`);--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_exports_idempotency` ON `bulk_exports` (`workspace_id`,`idempotency_key`);