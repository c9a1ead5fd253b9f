CREATE TABLE `assistant_versions` (
	`deployment_id` text NOT NULL,
	`assistant_id` text NOT NULL,
	`version` integer NOT NULL,
	`workspace_id` text NOT NULL,
	`graph_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`config` text NOT NULL,
	`context` text NOT NULL,
	`metadata` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`deployment_id`, `assistant_id`, `version`)
);
--> statement-breakpoint
CREATE TABLE `assistants` (
	`deployment_id` text NOT NULL,
	`assistant_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`graph_id` text NOT NULL,
	`version` integer NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`config` text NOT NULL,
	`context` text NOT NULL,
	`metadata` text NOT NULL,
	`is_system` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`deleted_at` text,
	`purge_at` text,
	PRIMARY KEY(`deployment_id`, `assistant_id`)
);
--> statement-breakpoint
CREATE INDEX `assistants_by_creation` ON `assistants` (`deployment_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `assistants_by_purge` ON `assistants` (`purge_at`) WHERE purge_at is not null;--> statement-breakpoint
ALTER TABLE `threads` ADD `state_updated_at` text;--> statement-breakpoint
ALTER TABLE `threads` ADD `digest` text;--> statement-breakpoint
CREATE INDEX `threads_by_update` ON `threads` (`deployment_id`,`updated_at`);--> statement-breakpoint
CREATE INDEX `threads_by_assistant` ON `threads` (`deployment_id`,metadata ->> 'assistant_id');