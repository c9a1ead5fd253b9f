CREATE TABLE `bulk_export_destinations` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`destination_type` text NOT NULL,
	`display_name` text NOT NULL,
	`config` text NOT NULL,
	`addressing_style` text NOT NULL,
	`credentials_keys` text NOT NULL,
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `bulk_export_destinations_by_workspace` ON `bulk_export_destinations` (`workspace_id`,`id`);