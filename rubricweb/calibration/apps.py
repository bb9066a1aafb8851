from django.apps import AppConfig


class CalibrationConfig(AppConfig):
    name = "rubricweb.calibration"
    label = "calibration"
