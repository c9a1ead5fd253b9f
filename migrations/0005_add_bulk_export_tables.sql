CREATE TABLE `bulk_export_tables` (
	`schedule_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`token` integer NOT NULL,
	`lease_expires_at` text,
	`version` integer NOT NULL,
	`published_version` integer NOT NULL,
	`metadata` text,
	`manifests` text NOT NULL,
	`unused_files` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE `bulk_exports` ADD `table_format` text;--> statement-breakpoint
ALTER TABLE `bulk_exports` ADD `table_version` integer;