ALTER TABLE `api_keys` ADD `description` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `created_by` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `expires_at` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `last_used_at` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `previous_sha256` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `previous_expires_at` text;--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_previous_sha256_unique` ON `api_keys` (`previous_sha256`);--> statement-breakpoint
CREATE INDEX `api_keys_by_workspace` ON `api_keys` (`workspace_id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_organization` ON `api_keys` (`organization_id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_user` ON `api_keys` (`user_id`);--> statement-breakpoint
ALTER TABLE `users` ADD `organization_role` text DEFAULT 'user' NOT NULL;