CREATE TABLE `run_webhooks` (
	`run_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`deployment_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`url` text NOT NULL,
	`status` text NOT NULL,
	`attempt` integer NOT NULL,
	`attempts` text NOT NULL,
	`due_at` text NOT NULL,
	`lease_expires_at` text,
	`sent_at` text NOT NULL,
	`created_at` text NOT NULL,
	`finished_at` text
);
--> statement-breakpoint
CREATE INDEX `run_webhooks_by_due` ON `run_webhooks` (`status`,`due_at`);--> statement-breakpoint
CREATE INDEX `run_webhooks_by_deployment` ON `run_webhooks` (`deployment_id`);--> statement-breakpoint
CREATE TABLE `webhook_secrets` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`updated_at` text NOT NULL,
	`previous_key_id` text,
	`previous_ciphertext` text,
	`previous_valid_until` text
);
