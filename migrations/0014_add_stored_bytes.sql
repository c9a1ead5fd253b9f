CREATE TABLE `agent_logs` (
	`deployment_id` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `revisions` ADD `log_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `partitions` ADD `file_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `partitions` ADD `payload_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `partitions` ADD `attachment_bytes` integer DEFAULT 0 NOT NULL;