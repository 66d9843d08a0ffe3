//! HTTP-01 (RFC 8555 section 8.3): the key authorization at a well-known path of the name.
//!
//! Two ways: the built-in [listener](super::listener), and a [`Webroot`] that another web server
//! serves.

mod answer;
mod solver;
mod stateless;
mod webroot;

pub(super) use solver::Http01Solver;
pub use stateless::{MadeUpTokenError, made_up_token};

pub(super) use answer::serve;
pub use webroot::{Webroot, WebrootError, check_webroot};

#[cfg(test)]
mod tests {
    use std::process::Command;

    /// The umask belongs to the whole process, so the tests of modes run again in processes of
    /// their own.
    #[test]
    fn modes_of_files_do_not_depend_on_the_umask() {
        let tests = [
            "solver::listener::folder::tests::the_file_is_the_documented_one_and_private",
            "solver::http01::webroot::tests::a_token_is_readable_by_the_web_server_and_goes_without_its_folders",
        ];
        for umask in ["000", "077"] {
            let run = Command::new("sh")
                .args(["-c", &format!("umask {umask}; exec \"$0\" --exact \"$@\"")])
                .arg(std::env::current_exe().unwrap())
                .args(tests)
                .output()
                .unwrap();
            let stdout = String::from_utf8_lossy(&run.stdout);
            assert!(stdout.contains("test result: ok. 2 passed"), "umask {umask}: {stdout}");
        }
    }
}
