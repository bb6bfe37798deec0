use partita_store::objects::{KeyPath, Listing, NewKey, ObjectResult, ObjectStore, OpenKey};

use super::target::Target;

fn said<T>(done: ObjectResult<T>) -> Result<T, String> {
    done.map_err(|error| error.to_string())
}

/// Something that is there now, made or found.
fn made_or_found(made: ObjectResult<()>) -> Result<(), String> {
    match made {
        Err(error) if error.is_already_there() => Ok(()),
        made => said(made),
    }
}

impl Target for ObjectStore {
    fn create_bucket(&mut self, volume: &str, bucket: &str) -> Result<(), String> {
        made_or_found(self.create_volume(volume, volume))?;
        made_or_found(Self::create_bucket(self, volume, bucket))
    }

    fn allocate(&mut self, path: KeyPath<'_>, new: &NewKey) -> Result<u64, String> {
        Ok(said(Self::allocate(self, path, new))?.client_id)
    }

    fn commit(&mut self, path: KeyPath<'_>, client: u64, data_size: u64) -> Result<(), String> {
        let open = OpenKey { path: path.to_buf(), client_id: client, overwrites: false };
        said(Self::commit(self, &open, data_size)).map(drop)
    }

    fn lookup(&mut self, path: KeyPath<'_>) -> Result<Option<u64>, String> {
        Ok(said(Self::lookup(self, path))?.map(|info| info.data_size))
    }

    fn list(
        &mut self,
        prefix: KeyPath<'_>,
        start_after: &str,
        limit: usize,
    ) -> Result<usize, String> {
        let listing = Listing { prefix: prefix.key, start_after: Some(start_after), limit };
        Ok(said(Self::list(self, prefix.volume, prefix.bucket, &listing))?.len())
    }

    fn delete(&mut self, path: KeyPath<'_>) -> Result<(), String> {
        said(Self::delete(self, path))
    }

    fn purge(&mut self, limit: usize) -> Result<usize, String> {
        Ok(said(self.purge_deleted(limit))?.keys.len())
    }

    fn write(&mut self) -> Result<(), String> {
        self.flush().map(drop).map_err(|error| error.to_string())
    }

    fn open_keys(&mut self) -> Result<Vec<(String, u64)>, String> {
        let keys = self.tables().open_keys.scan().keys().map_err(|error| error.to_string())?;
        keys.map(|key| match key {
            Ok((path, client)) => Ok((path.key, client)),
            Err(error) => Err(error.to_string()),
        })
        .collect()
    }
}
