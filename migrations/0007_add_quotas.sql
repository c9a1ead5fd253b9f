CREATE TABLE `quotas` (
	`workspace_id` text NOT NULL,
	`meter` text NOT NULL,
	`period` text NOT NULL,
	`set_by` text NOT NULL,
	`limit` integer NOT NULL,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`workspace_id`, `meter`, `period`, `set_by`)
);
