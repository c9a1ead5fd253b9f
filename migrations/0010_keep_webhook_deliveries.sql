CREATE TABLE `webhook_deliveries` (
	`integration_id` text NOT NULL,
	`delivery_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`integration_id`, `delivery_id`)
);
--> statement-breakpoint
CREATE INDEX `webhook_deliveries_by_time` ON `webhook_deliveries` (`created_at`);--> statement-breakpoint
ALTER TABLE `integrations` ADD `app_id` text;--> statement-breakpoint
ALTER TABLE `integrations` ADD `app_installation_id` integer;