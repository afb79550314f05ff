"""Pictures of the papers: gallery, lessons, retrieved budget."""
