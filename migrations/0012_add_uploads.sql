CREATE TABLE `uploads` (
	`object_path` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`deployment_id` text NOT NULL,
	`bytes` integer NOT NULL,
	`is_used` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `uploads_by_deployment` ON `uploads` (`deployment_id`);--> statement-breakpoint
CREATE INDEX `uploads_unused` ON `uploads` (`workspace_id`,`created_at`,`bytes`) WHERE is_used = 0;