CREATE TABLE `alerts` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`metric` text NOT NULL,
	`session_id` text,
	`filter` text,
	`is_root` integer NOT NULL,
	`feedback_key` text,
	`window_minutes` integer NOT NULL,
	`operator` text NOT NULL,
	`threshold` real NOT NULL,
	`webhook` text NOT NULL,
	`enabled` integer NOT NULL,
	`status` text NOT NULL,
	`value` real,
	`episode` integer NOT NULL,
	`started_at` text,
	`evaluated_at` text,
	`problem` text,
	`due_at` text NOT NULL,
	`outbox_id` text,
	`outbox_payload` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `alerts_by_workspace` ON `alerts` (`workspace_id`,`id`);--> statement-breakpoint
CREATE INDEX `alerts_by_due` ON `alerts` (`due_at`) WHERE enabled = 1 OR status = 'firing' OR outbox_id IS NOT NULL;--> statement-breakpoint
ALTER TABLE `run_webhooks` ADD `alert_id` text;