CREATE TABLE `partitions` (
	`project_id` text NOT NULL,
	`day` text NOT NULL,
	`slot` integer NOT NULL,
	`workspace_id` text NOT NULL,
	`rows` integer NOT NULL,
	`bytes` integer NOT NULL,
	`seq` integer NOT NULL,
	`min_start_us` integer,
	`max_start_us` integer,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`project_id`, `day`, `slot`)
);
--> statement-breakpoint
CREATE INDEX `partitions_by_day` ON `partitions` (`workspace_id`,`day`);--> statement-breakpoint
CREATE TABLE `projects` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`extra` text,
	`start_time` text NOT NULL,
	`end_time` text,
	`default_dataset_id` text,
	`reference_dataset_id` text,
	`trace_tier` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`deleted_at` text,
	`sent_at` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `projects_name` ON `projects` (`workspace_id`,`name`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `projects_by_start` ON `projects` (`workspace_id`,`start_time`);--> statement-breakpoint
CREATE INDEX `projects_deleted` ON `projects` (`sent_at`) WHERE deleted_at is not null;--> statement-breakpoint
CREATE TABLE `run_locations` (
	`workspace_id` text NOT NULL,
	`run_id` text NOT NULL,
	`project_id` text NOT NULL,
	`day` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `run_id`)
);
--> statement-breakpoint
CREATE INDEX `run_locations_by_project` ON `run_locations` (`project_id`);