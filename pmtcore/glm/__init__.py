"""Mathematics without privacy: families and losses, the minimizers, penalties, literal augmentation."""
