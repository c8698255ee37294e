//! Which drive it is.

use ssd::DeviceSpec;
use ssd::policies::own_ftl::NewFtl;
use ssd::policies::{Policies, StandIn};
use ssd::run::{DeviceWord, device_given, open_media};

use crate::Error;
use crate::ftl::{Answer, DriveLayout, OwnFtl};

/// A drive: a preset, a file or a description; then, in this order, its scheme, its age and single keys.
///
/// ```
/// use ssdlab::{Config, Device};
/// let config = Config::named("tlc").scheme("pnar2").age("pec=2000,retention=6mo").set("buffer.size", "4MiB").seed(7);
/// assert!(Device::open(&config).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    device: String,
    is_text: bool,
    scheme: Option<String>,
    age: Option<String>,
    settings: Vec<String>,
    pub(crate) seed: u64,
    ftl: Option<StandIn<NewFtl>>,
}

impl Config {
    /// A preset's name ([`presets`](crate::presets)), the path of a device file or of a checkpoint, or a description in
    /// a line.
    ///
    /// ```
    /// use ssdlab::{Config, Device};
    /// let device = Device::open(&Config::named("2TB, 16 ch x 4 dies, TLC, PCIe 5 x4"))?;
    /// assert!(device.capacity().0 > 1_900_000_000_000);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn named(device: &str) -> Config {
        Config {
            device: device.into(),
            is_text: false,
            scheme: None,
            age: None,
            settings: Vec::new(),
            seed: 1,
            ftl: None,
        }
    }

    /// The text of a device file (TOML).
    ///
    /// ```
    /// use ssdlab::{Config, Device};
    /// let half = Device::open(&Config::text("base = \"tlc\"\n[geometry]\nchannels = 4\n"))?;
    /// assert!(half.capacity() < Device::open(&Config::named("tlc"))?.capacity());
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn text(toml: &str) -> Config {
        Config { is_text: true, ..Config::named(toml) }
    }

    /// What the drive does about errors and about reads that wait: a named scheme, or choices, `axis=choice` with
    /// commas between.
    ///
    /// ```
    /// use ssdlab::{Config, Device};
    /// assert!(Device::open(&Config::named("asplos21").scheme("pso-pnar2")).is_ok());
    /// ```
    #[must_use]
    pub fn scheme(self, scheme: &str) -> Config {
        Config { scheme: Some(scheme.into()), ..self }
    }

    /// The state that it starts from: `key=value` of the section `age`, with commas between.
    ///
    /// ```
    /// use ssdlab::{Config, Device};
    /// assert!(Device::open(&Config::named("qlc").age("pec=1000,retention=3mo")).is_ok());
    /// ```
    #[must_use]
    pub fn age(self, age: &str) -> Config {
        Config { age: Some(age.into()), ..self }
    }

    /// A key of the configuration, such as `ftl.over_provisioning`; it may be called again for further keys.
    ///
    /// ```
    /// use ssdlab::{Config, Device};
    /// let error = Device::open(&Config::named("tlc").set("buffer.siz", "4MiB")).err().expect("there is no such key");
    /// assert!(error.to_string().contains("did you mean `size`?"));
    /// ```
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Config {
        self.settings.push(format!("{key}={value}"));
        self
    }

    /// The seed of all random draws  \[default: 1].
    ///
    /// ```
    /// use ssdlab::{Config, Device};
    /// assert!(Device::open(&Config::named("tlc").seed(2)).is_ok());
    /// ```
    #[must_use]
    pub fn seed(self, seed: u64) -> Config {
        Config { seed, ..self }
    }

    /// An [FTL of one's own](crate::ftl) in place of the drive's. Its name, with its version, tells it from others in
    /// checkpoints; `new` makes one for a drive, and another one after a power cut.
    ///
    /// ```
    /// use ssdlab::{Config, Device};
    /// let none = |_| Err(ssdlab::ftl::wrong("none", "it is not written yet", "write it"));
    /// let error = Device::open(&Config::named("tlc").ftl("none", none)).err().expect("there is none");
    /// assert!(error.to_string().contains("it is not written yet"));
    /// ```
    #[must_use]
    pub fn ftl(
        self,
        name: &str,
        new: impl Fn(DriveLayout) -> Answer<Box<dyn OwnFtl>> + Send + Sync + 'static,
    ) -> Config {
        Config { ftl: Some(StandIn::named(name, new)), ..self }
    }

    /// The path of a checkpoint, where it is one.
    pub(crate) fn checkpoint(&self) -> Option<std::path::PathBuf> {
        if self.is_text { None } else { ssd::run::checkpoint::given(&self.device) }
    }

    fn word(&self) -> DeviceWord<'_> {
        if self.is_text { DeviceWord::Text(&self.device) } else { DeviceWord::Named(&self.device) }
    }

    pub(crate) fn media(&self) -> Result<ssd::Media, Error> {
        if self.ftl.is_some() {
            let problem = "an FTL is given, and flash without a drive has none";
            return Err(Error::Input(format!("{problem}\n  help: leave it out, or open a Device")));
        }
        let (scheme, age) = (self.scheme.as_deref(), self.age.as_deref());
        Ok(open_media(self.word(), scheme, age, &self.settings, &Policies::default(), self.seed)?)
    }

    pub(crate) fn spec(&self) -> Result<DeviceSpec, Error> {
        let mut spec = device_given(self.word(), self.scheme.as_deref(), self.age.as_deref(), &self.settings)?;
        spec.config.policies.ftl = self.ftl.clone();
        Ok(spec)
    }
}
