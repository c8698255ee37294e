//! Named schemes: rows of choices on the axes. A name is a shorthand and nothing more.

use units::ConfigError;
use units::value::nearest;

/// A named scheme.
pub struct Scheme {
    /// Its name.
    pub name: &'static str,
    /// What it is, with its source.
    pub about: &'static str,
    /// Its choices: axis and word.
    pub choices: &'static [(&'static str, &'static str)],
    /// What belongs to it beside its choices, of ideals and of bounds, as `section.key=value`; `{read}` stands for the
    /// drive's mean tR.
    pub overrides: &'static [&'static str],
}

/// The section and key of the configuration that hold each axis.
pub const AXES: &[(&str, &str)] = &[
    ("start", "read.start"),
    ("next", "read.next"),
    ("pipeline", "read.pipeline"),
    ("sensing", "read.sensing"),
    ("predictor", "read.predictor"),
    ("soft", "ecc.soft"),
    ("order", "schedule.order"),
    ("suspend-program", "schedule.suspend_program"),
    ("suspend-erase", "schedule.suspend_erase"),
    ("pulse", "erase.pulse"),
    ("margin", "erase.margin"),
    ("voltage", "erase.voltage"),
];

/// Every named scheme, in the order in which they are listed.
pub const ALL: &[Scheme] = &[
    Scheme {
        name: "fifo",
        about: "first come, first served (fast12 section 3.2)",
        choices: &[("order", "fifo")],
        overrides: &[],
    },
    Scheme {
        name: "rps",
        about: "read priority scheduling (fast12 section 3.2)",
        choices: &[("order", "read-first")],
        overrides: &[],
    },
    Scheme {
        name: "pes-ips",
        about: "read priority, programs suspended between phases, erases at once (fast12 section 4)",
        choices: &[("order", "read-first"), ("suspend-program", "inter-phase"), ("suspend-erase", "reset-and-resume")],
        overrides: &[],
    },
    Scheme {
        name: "pes-ipc",
        about: "read priority, programs and erases suspended at once (fast12 section 4)",
        choices: &[("order", "read-first"), ("suspend-program", "intra-phase"), ("suspend-erase", "reset-and-resume")],
        overrides: &[],
    },
    Scheme {
        name: "per",
        about: "ideal: read priority, and programs and erases take as long as a read (fast12 section 3.2)",
        choices: &[("order", "read-first")],
        overrides: &["chip.t_prog={read}", "chip.program_loops=none", "chip.t_bers={read}", "chip.erase_loops=none"],
    },
    Scheme {
        name: "pe0",
        about: "ideal: read priority, and programs and erases take no time (fast12 section 3.2)",
        choices: &[("order", "read-first")],
        overrides: &["chip.t_prog=0us", "chip.program_loops=none", "chip.t_bers=0us", "chip.erase_loops=none"],
    },
    Scheme {
        name: "user-first",
        about: "user I/O before internal operations (electronics25 section 7.1)",
        choices: &[("order", "user-first")],
        overrides: &[],
    },
    Scheme {
        name: "baseline",
        about: "regular read-retry: the vendor's table, step after step (asplos21 section 7.2)",
        choices: &[("start", "default"), ("next", "table"), ("pipeline", "off"), ("sensing", "default")],
        overrides: &[],
    },
    Scheme {
        name: "pr2",
        about: "retry steps pipelined with CACHE READ (asplos21 section 6.1)",
        choices: &[("start", "default"), ("next", "table"), ("pipeline", "cache-read"), ("sensing", "default")],
        overrides: &[],
    },
    Scheme {
        name: "ar2",
        about: "retry steps sensed faster by the ECC's margin (asplos21 section 6.2)",
        choices: &[("start", "default"), ("next", "table"), ("pipeline", "off"), ("sensing", "adaptive")],
        overrides: &[],
    },
    Scheme {
        name: "pnar2",
        about: "pr2 and ar2 together (asplos21 section 7.2)",
        choices: &[("start", "default"), ("next", "table"), ("pipeline", "cache-read"), ("sensing", "adaptive")],
        overrides: &[],
    },
    Scheme {
        name: "pnar2-first",
        about: "pnar2 for first senses too, as far as similar pages say that it pays (asplos21 section 8)",
        choices: &[
            ("start", "default"),
            ("next", "table"),
            ("pipeline", "cache-read-likely"),
            ("sensing", "adaptive-first"),
        ],
        overrides: &[],
    },
    Scheme {
        name: "pso",
        about: "reads begin near the references that last worked for similar pages (asplos21 section 7.3)",
        choices: &[("start", "tracked"), ("next", "table"), ("pipeline", "off"), ("sensing", "default")],
        overrides: &[],
    },
    Scheme {
        name: "pso-pnar2",
        about: "pso, pr2 and ar2 together (asplos21 section 7.3)",
        choices: &[("start", "tracked"), ("next", "table"), ("pipeline", "cache-read"), ("sensing", "adaptive")],
        overrides: &[],
    },
    Scheme {
        name: "recorded",
        about: "reads begin with what last read a page of the block and group of layers (Nie et al., IEEE Trans. Reliability 2025)",
        choices: &[("start", "recorded"), ("next", "table"), ("pipeline", "off"), ("sensing", "default")],
        overrides: &[],
    },
    Scheme {
        name: "near-zero",
        about: "a retry table made for the chip, begun at what last worked for similar pages, the nearest steps first (Ye et al., ASPLOS'24)",
        choices: &[("start", "tracked"), ("next", "tailored"), ("pipeline", "off"), ("sensing", "default")],
        overrides: &[],
    },
    Scheme {
        name: "syndrome",
        about: "references moved to where the syndrome weighs least, from what last worked for similar pages (ACM TECS 2025)",
        choices: &[("start", "tracked"), ("next", "syndrome"), ("pipeline", "off"), ("sensing", "default")],
        overrides: &[],
    },
    Scheme {
        name: "norr",
        about: "ideal: no sense ever fails (asplos21 section 7.2)",
        choices: &[],
        overrides: &["chip.model=none"],
    },
    Scheme {
        name: "ssd-one",
        about: "ideal: the second sense of every page is right (hpca24 section III-B)",
        choices: &[
            ("start", "default"),
            ("next", "oracle"),
            ("pipeline", "off"),
            ("sensing", "default"),
            ("predictor", "none"),
        ],
        overrides: &[],
    },
    Scheme {
        name: "ssd-zero",
        about: "ideal: no sense ever fails (hpca24 section III-B)",
        choices: &[],
        overrides: &["chip.model=none"],
    },
    Scheme {
        name: "senc",
        about: "the best references by sentinel cells, read off the chip (hpca24 section VI-A)",
        choices: &[
            ("start", "default"),
            ("next", "sentinel"),
            ("pipeline", "off"),
            ("sensing", "default"),
            ("predictor", "none"),
        ],
        overrides: &[],
    },
    Scheme {
        name: "swr",
        about: "the best references by Swift-Read, inside the die (hpca24 section VI-A)",
        choices: &[
            ("start", "default"),
            ("next", "swift"),
            ("pipeline", "off"),
            ("sensing", "default"),
            ("predictor", "none"),
        ],
        overrides: &[],
    },
    Scheme {
        name: "swr-plus",
        about: "swr whose reads begin with what last worked for similar pages (hpca24 section VI-A)",
        choices: &[
            ("start", "tracked"),
            ("next", "swift"),
            ("pipeline", "off"),
            ("sensing", "default"),
            ("predictor", "none"),
        ],
        overrides: &[],
    },
    Scheme {
        name: "rpssd",
        about: "swr whose controller predicts failures and ends their decoding (hpca24 section VI-A)",
        choices: &[
            ("start", "default"),
            ("next", "swift"),
            ("pipeline", "off"),
            ("sensing", "default"),
            ("predictor", "controller"),
        ],
        overrides: &[],
    },
    Scheme {
        name: "rif",
        about: "swr inside a die that predicts failures and reads again by itself (hpca24 section IV)",
        choices: &[
            ("start", "default"),
            ("next", "swift"),
            ("pipeline", "off"),
            ("sensing", "default"),
            ("predictor", "on-die"),
        ],
        overrides: &[],
    },
    Scheme {
        name: "ispe",
        about: "incremental-step pulse erasing, loop after loop (electronics25 section 3.2)",
        choices: &[("pulse", "ispe"), ("margin", "none"), ("voltage", "nominal")],
        overrides: &[],
    },
    Scheme {
        name: "i-ispe",
        about: "straight to the loop that last succeeded (electronics25 section 3.4)",
        choices: &[("pulse", "i-ispe"), ("margin", "none"), ("voltage", "nominal")],
        overrides: &[],
    },
    Scheme {
        name: "dpes",
        about: "a lower erase voltage and slower programs until 3,000 P/E cycles (electronics25 section 7.1)",
        choices: &[("pulse", "ispe"), ("margin", "none"), ("voltage", "scaled")],
        overrides: &[],
    },
    Scheme {
        name: "aero-cons",
        about: "pulses just long enough by fail bits, all cells erased (Cho et al., ASPLOS'24; electronics25's reo-minus)",
        choices: &[("pulse", "felp"), ("margin", "none"), ("voltage", "nominal")],
        overrides: &[],
    },
    Scheme {
        name: "aero",
        about: "aero-cons whose pulses also use the ECC's margin (Cho et al., ASPLOS'24; electronics25's reo)",
        choices: &[("pulse", "felp"), ("margin", "ecc"), ("voltage", "nominal")],
        overrides: &[],
    },
    Scheme {
        name: "ssr",
        about: "erases suspended at safe points, once at each (Kim et al., J. KICS 2025)",
        choices: &[("order", "read-first"), ("suspend-erase", "safe-points")],
        overrides: &[],
    },
    Scheme {
        name: "reo-minus",
        about: "the last pulse just long enough, by fail bits (electronics25 section 7.1)",
        choices: &[("pulse", "felp"), ("margin", "none"), ("voltage", "nominal")],
        overrides: &[],
    },
    Scheme {
        name: "reo",
        about: "reo-minus whose pulses also use the ECC's margin (electronics25 section 7.1)",
        choices: &[("pulse", "felp"), ("margin", "ecc"), ("voltage", "nominal")],
        overrides: &[],
    },
    Scheme {
        name: "reo-plus",
        about: "reo with erase voltages by wordline (electronics25 section 7.1)",
        choices: &[("pulse", "felp"), ("margin", "ecc"), ("voltage", "per-wordline")],
        overrides: &[],
    },
];

/// The configuration words (`section.key=value`) of a scheme: a name, or `axis=choice` pairs joined by commas, or a
/// name followed by such pairs that override it.
pub fn words(scheme: &str) -> Result<Vec<String>, ConfigError> {
    let fail = |problem: String, remedy: String| ConfigError {
        origin: format!("--scheme {scheme}"),
        line: None,
        key: None,
        problem,
        remedy,
    };
    let mut words = Vec::new();
    for part in scheme.split(',').map(str::trim) {
        if let Some((axis, choice)) = part.split_once('=') {
            let Some((_, key)) = AXES.iter().find(|(known, _)| *known == axis) else {
                let axes: Vec<&str> = AXES.iter().map(|(axis, _)| *axis).collect();
                return Err(fail(format!("there is no axis `{axis}`"), format!("the axes are {}", axes.join(", "))));
            };
            words.push(format!("{key}={choice}"));
        } else if let Some(named) = ALL.iter().find(|known| known.name == part) {
            words.extend(named.choices.iter().filter_map(|(axis, choice)| {
                AXES.iter().find(|(known, _)| known == axis).map(|(_, key)| format!("{key}={choice}"))
            }));
            words.extend(named.overrides.iter().map(|word| (*word).to_owned()));
        } else {
            let names: Vec<&str> = ALL.iter().map(|known| known.name).collect();
            let remedy = match nearest(part, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the schemes are {}, and none: as the device has it; or write axis=choice",
                    names.join(", ")
                ),
            };
            return Err(fail(format!("there is no scheme `{part}`"), remedy));
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_a_named_scheme_is_on_an_axis() {
        for scheme in ALL {
            let all = scheme.choices.len() + scheme.overrides.len();
            assert_eq!(words(scheme.name).unwrap().len(), all, "{}", scheme.name);
        }
    }

    #[test]
    fn a_scheme_is_a_name_and_overrides() {
        assert_eq!(words("fifo,order=user-first").unwrap(), ["schedule.order=fifo", "schedule.order=user-first"]);
        assert!(words("fiffo").unwrap_err().to_string().contains("did you mean `fifo`?"));
        assert!(words("odor=fifo").unwrap_err().to_string().contains("the axes are start, next, pipeline"));
    }
}
