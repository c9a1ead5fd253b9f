CREATE TABLE `ttl_settings` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`default_trace_tier` text NOT NULL,
	`apply_to_all_projects` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
