CREATE TABLE `listeners` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`version` text,
	`compute_type` text NOT NULL,
	`compute_id` text NOT NULL,
	`compute_config` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `listeners_compute` ON `listeners` (`workspace_id`,`compute_id`);